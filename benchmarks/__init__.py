"""Speed of hardgrain, as ratios measured in one run. ``python -m benchmarks --help``"""
