"""JSON that every reader takes, whatever the figures are."""

import json
import math

import numpy as np

from hardgrain.io.json_text import json_text


def test_what_json_cannot_say_becomes_null():
    facts = {"one": np.float64("nan"), "some": (1, -math.inf), "all": {"these": np.arange(2.0)}}
    assert json.loads(json_text(facts)) == {
        "one": None, "some": [1, None], "all": {"these": [0.0, 1.0]}
    }  # fmt: skip
