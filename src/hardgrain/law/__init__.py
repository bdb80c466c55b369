"""The scalar physics of one contact, written once for every backend.

Each module holds a factory ``make_x(jit)`` that compiles plain Python functions with the decorator
it is given: the CPU kernels pass ``hardgrain.kernels.scalar``, a CUDA backend passes
``numba.cuda.jit(device=True)``, and ``lambda f: f`` gives the bare functions for study. Factories
are cached: whoever asks with the same decorator gets the same functions, compiled once.

Sign conventions, shared by all laws. The normal points from the first body to the second; the
impulse P acts on the second body; u is the velocity of the second body's contact point relative to
the first's, *with* the present impulse p included. Inertia enters as W (velocity per impulse,
eq. 15 of the review, W = M⁻¹ there) or as a mass m = 1/W where W is diagonal. The velocity that
the contact would have without its own impulse, U of the review, is therefore u − W p, and the
sticking impulse −m U reads p − m u: an increment, so nothing needs to be summed afresh.
"""
