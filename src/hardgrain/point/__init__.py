"""One contact point, one pair or one body, as every backend computes it.

Like the laws, each module holds factories ``make_x(jit)`` that compile plain Python functions with
the decorator they are given. The functions read and write elements of arrays, return numbers and
tuples, and neither allocate memory nor loop over contacts: a thread of a GPU can run each of them.
Which contacts are visited, in which order and by how many threads is up to the backend
(`hardgrain.cpu`).
"""
