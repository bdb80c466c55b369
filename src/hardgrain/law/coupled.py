"""The general one-contact law: a full effective-mass matrix, solved exactly (review, eqs 28–32).

Spheres have a diagonal W; locked axes, rotating walls and other shapes couple the normal and the
tangents. With U the contact velocity without the contact's own impulse (biases included):

1. open if U_n > 0: P = 0;
2. stick: P = −W⁻¹ U, accepted if |P_t| ≤ µ_s P_n;
3. slide: V_n = 0, |P_t| = µ P_n, and P_t opposes the *final* slip, V_t = −α P_t with α ≥ 0.

Sliding. Eliminate P_n = −(U_n + W_nt·P_t)/W_nn. With the Schur complement S = W_tt − W_tn W_nt/W_nn
and b = −U_t + W_tn U_n/W_nn the tangential part is (S + α 1) P_t = b, and one scalar equation is
left for α:

    h(α) := |P_t(α)| + (µ/W_nn) W_nt·P_t(α)  =  κ := −µ U_n/W_nn.

When sticking fails, h(0) > κ; h(∞) = 0 < κ: a root exists, for any µ and W. In 2D it is linear:
P_t keeps the sign of b and P_n = −U_n/(W_nn + s µ W_nt). In 3D, in the eigenframe of S, it is the
secular equation of trust-region methods: 1/h is nearly linear in α, so Newton's method on 1/h,
fenced in by bisection, reaches rounding in a few iterations; a step of the share 10⁻⁹ leaves an
error of about its square. With p' = −(S + α 1)⁻¹ p the angle of p and p' has a cosine of
2 √(λ₁ λ₂)/(λ₁ + λ₂) at least, up to its sign. If µ |W_nt|/W_nn is below it, h falls with α and
there is one root. The search then begins with the α that a number in the place of S would give,
the mean of its eigenvalues over the direction of b, which is the root where α is large; else with
α = 0.

W may be singular: two bodies that are locked or driven along x and do not turn can be moved apart
along y alone, W = w wᵀ and S = 0. Then P and P + λ (W_tt, −W_nt) move them alike. Where the cone of
friction holds that direction, as it does when the normal turns to x, impulses of any size stick;
left to rounding they outgrow all digits of the velocities, and the next step starts from there. Of
all these the smallest is taken: P along w, or as near to it as the cone allows. S counts as zero
below 10⁻⁹ of the largest element of W, and is not less than that elsewhere.

If driven bodies approach each other, so that they must slip (b ≠ 0) against friction that holds
them, no impulse is large enough. The least S then stands for a compliance that lets them slip, at
impulses a billion times as large as velocities and masses would explain, which dissipate; the
speeds that result are those that `run.plausible` looks for.

Cohesion shifts the cone: P_n may go down to −c (c = largest tensile force × dt), and friction
follows P_n + c. In the variable P' = P + c n the law is the one above with U' = U − c W n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

LOCKED = 1e-9  # [1] share of the largest element of W below which S counts as zero
NOISE = 1e-6  # [1] share of the velocities below which a slip that cannot be prevented is rounding
BLOCKED = (
    1e-20  # [1] share of W_tt below which the normal does: the square of rounding in n, no more
)


Vector = tuple[float, float, float]
# a symmetric matrix of three rows, from its diagonal to the right
Matrix = tuple[float, float, float, float, float, float]


@cache
def make_coupled(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the general law with ``jit``."""

    @jit
    def smallest(w_nn: float, w_nt: float, mu: float) -> float:
        """P_t/P_n of the smallest impulse where W = w wᵀ: along w or, at most, at the limit."""
        return math.copysign(min(mu, abs(w_nt) / w_nn), w_nt)

    @jit
    def inverses(w_nn: float, w_nt: float, w_tt: float) -> Vector:
        """1/W_nn, 1/S and whether S is locked (1); 0, 0, 0 where the normal is blocked."""
        if w_nn <= BLOCKED * w_tt:
            return 0.0, 0.0, 0.0
        s, floor = w_tt - w_nt * w_nt / w_nn, LOCKED * max(w_nn, w_tt)
        return 1.0 / w_nn, 1.0 / max(s, floor), 1.0 if s <= floor else 0.0

    # Contacts that stay open or stick divide by nothing: sweeps wait for each division.
    @jit
    def decoupled_2d(
        u: tuple[float, float],
        w: tuple[float, float],
        inverse: Vector,
        mu: tuple[float, float],
        cohesion: float,
    ) -> tuple[float, float]:
        """The law in 2D, given W_nn, W_nt and what `inverses` says of W."""
        (u_n, u_t), (w_nn, w_nt), (mu_s, mu_d) = u, w, mu
        i_nn, i_s, locked = inverse
        if i_nn == 0.0:
            return 0.0, 0.0
        u_n -= cohesion * w_nn
        u_t -= cohesion * w_nt
        if u_n > 0.0:
            return -cohesion, 0.0
        push = u_n * i_nn
        b = w_nt * push - u_t
        if locked == 1.0 and abs(b) <= NOISE * (abs(u_t) + abs(b + u_t)):  # it sticks by itself
            side = smallest(w_nn, w_nt, mu_s)
            p_n = -u_n / (w_nn + side * w_nt)
            return p_n - cohesion, side * p_n
        p_t = b * i_s
        p_n = -(push + w_nt * p_t * i_nn)
        if abs(p_t) > mu_s * p_n:
            side = math.copysign(mu_d, b)
            p_n = -u_n / (w_nn + side * w_nt)
            p_t = side * p_n
        return p_n - cohesion, p_t

    @jit
    def coupled_2d(
        u_n: float,
        u_t: float,
        w_nn: float,
        w_nt: float,
        w_tt: float,
        mu_s: float,
        mu_d: float,
        cohesion: float,
    ) -> tuple[float, float]:
        """Impulse (P_n, P_t) of one contact in 2D; U includes the biases, not the impulse."""
        p_n, p_t = decoupled_2d(
            (u_n, u_t), (w_nn, w_nt), inverses(w_nn, w_nt, w_tt), (mu_s, mu_d), cohesion
        )
        return p_n, p_t

    @jit
    def slip_rate(
        c1: float,
        c2: float,
        g1: float,
        g2: float,
        l1: float,
        l2: float,
        ratio: float,
        kappa: float,
    ) -> float:
        """The root α ≥ 0 of h(α) = κ in the eigenframe of S (eigenvalues l1, l2 > 0)."""
        low = 0.0
        i_k, bb, pull = 1.0 / kappa, c1 * c1 + c2 * c2, ratio * math.sqrt(g1 * g1 + g2 * g2)
        b = math.sqrt(bb)
        alpha, high = 0.0, (1.0 + pull) * b * i_k
        if (pull * (l1 + l2)) ** 2 < 4.0 * l1 * l2:
            far = (b + ratio * (g1 * c1 + g2 * c2) / b) * i_k - (c1 * c1 * l1 + c2 * c2 * l2) / bb
            alpha = far if 0.0 < far < high else 0.0
        for _ in range(100):
            i1, i2 = 1.0 / (l1 + alpha), 1.0 / (l2 + alpha)
            p1, p2 = c1 * i1, c2 * i2
            length = math.sqrt(p1 * p1 + p2 * p2) + 1e-300  # squares may underflow
            h = length + ratio * (g1 * p1 + g2 * p2)
            if h > kappa:
                low = alpha
            else:
                high = alpha
            d1, d2 = -p1 * i1, -p2 * i2
            dh = (p1 * d1 + p2 * d2) / length + ratio * (g1 * d1 + g2 * d2)
            # Newton on 1/h − 1/κ: α − h (h/κ − 1) / h'
            new = alpha - h * (h * i_k - 1.0) / dh if dh < 0.0 and h > 0.0 else -1.0
            if low <= new <= high and abs(new - alpha) <= 1e-9 * (alpha + l2):
                return new
            if not (low < new < high):
                new = 0.5 * (low + high)
            if high - low <= 4e-16 * high:
                return new
            alpha = new
        return alpha

    @jit
    def eigenframe(w: Matrix) -> tuple[float, float, float, float, float]:
        """The eigenframe of S: components of its first axis, eigenvalues, and the least of these.

        An eigenvalue that is not above the least is locked.
        """
        w_nn, w_n1, w_n2, w_11, w_12, w_22 = w
        s_11 = w_11 - w_n1 * w_n1 / w_nn
        s_12 = w_12 - w_n1 * w_n2 / w_nn
        s_22 = w_22 - w_n2 * w_n2 / w_nn
        floor = LOCKED * max(w_nn, w_11, w_22)
        half, mean = 0.5 * (s_11 - s_22), 0.5 * (s_11 + s_22)
        root = math.sqrt(half * half + s_12 * s_12)
        if root <= 1e-12 * abs(mean):  # round bodies: S is a number, and any frame its eigenframe
            root, x, y = 0.0, 1.0, 0.0
        else:  # the half angle of (half, s_12)
            x = math.sqrt(0.5 * (1.0 + abs(half) / root))
            y = 0.5 * s_12 / (root * x)
            if half < 0.0:
                x, y = abs(y), math.copysign(x, s_12)
        return x, y, mean + root, mean - root, floor

    @jit
    def slid_3d(
        push: float,
        c: tuple[float, float],
        g: tuple[float, float],
        s: tuple[float, float],
        i_nn: float,
        mu: float,
    ) -> Vector:
        """The impulse of a contact that slides, in the eigenframe of S.

        push: U_n/W_nn, at most zero; c: b; g: W_nt; s: the eigenvalues of S; i_nn: 1/W_nn.
        """
        (c1, c2), (g1, g2), (l1, l2) = c, g, s
        kappa = -mu * push
        if kappa <= 0.0:  # frictionless, or no push at all
            p1, p2 = 0.0, 0.0
        elif l1 == l2:  # P_t lies along b whatever α: as in 2D
            b = math.sqrt(c1 * c1 + c2 * c2)
            share = kappa / (b + mu * i_nn * (g1 * c1 + g2 * c2))
            p1, p2 = share * c1, share * c2
        else:
            alpha = slip_rate(c1, c2, g1, g2, l1, l2, mu * i_nn, kappa)
            p1, p2 = c1 / (l1 + alpha), c2 / (l2 + alpha)
        return -(push + (g1 * p1 + g2 * p2) * i_nn), p1, p2

    @jit
    def decoupled_3d(
        u: Vector, w: Vector, s: Vector, inverse: Vector, mu: tuple[float, float], cohesion: float
    ) -> tuple[float, float, float]:
        """The law in the eigenframe of S, where its tangents are along the axes of S.

        w: W_nn, W_n1, W_n2; s: the eigenvalues of S, not below the least, and this; inverse: 1/W_nn
        and those of the eigenvalues, 0, 0, 0 where the normal is blocked; mu: static and dynamic.
        """
        (u_n, u_1, u_2), (w_nn, g1, g2), (l1, l2, floor), (mu_s, mu_d) = u, w, s, mu
        i_nn, i_1, i_2 = inverse
        if i_nn == 0.0:
            return 0.0, 0.0, 0.0
        u_n -= cohesion * w_nn
        u_1 -= cohesion * g1
        u_2 -= cohesion * g2
        if u_n > 0.0:
            return -cohesion, 0.0, 0.0
        push = u_n * i_nn
        c1, c2 = g1 * push - u_1, g2 * push - u_2
        p1, p2 = c1 * i_1, c2 * i_2
        p_n = -(push + (g1 * p1 + g2 * p2) * i_nn)
        if l2 == floor:
            noise = NOISE * (abs(u_1) + abs(u_2) + abs(c1 + u_1) + abs(c2 + u_2))
            if abs(c2) <= noise and l1 > floor:  # singular along one tangent
                side = smallest(w_nn, g2, mu_s)
                p_n = -(u_n + g1 * p1) / (w_nn + side * g2)
                p2 = side * p_n
            elif abs(c2) <= noise and abs(c1) <= noise:  # along both
                g = math.sqrt(g1 * g1 + g2 * g2)
                side = smallest(w_nn, g, mu_s)
                p_n = -u_n / (w_nn + side * g)
                p1, p2 = (side * p_n * g1 / g, side * p_n * g2 / g) if g > 0.0 else (0.0, 0.0)
                return p_n - cohesion, p1, p2
        if p_n < 0.0 or p1 * p1 + p2 * p2 > mu_s * mu_s * p_n * p_n:
            p_n, p1, p2 = slid_3d(push, (c1, c2), (g1, g2), (l1, l2), i_nn, mu_d)
        return p_n - cohesion, p1, p2

    @jit
    def coupled_3d(
        u: Vector, w: Matrix, mu_s: float, mu_d: float, cohesion: float
    ) -> tuple[float, float, float]:
        """Impulse (P_n, P_1, P_2) of one contact in 3D; U includes the biases, not the impulse."""
        (u_n, u_1, u_2), (w_nn, w_n1, w_n2, w_11, _, w_22) = u, w
        if w_nn <= BLOCKED * (w_11 + w_22):
            return 0.0, 0.0, 0.0
        x, y, l1, l2, floor = eigenframe(w)
        l1, l2 = max(l1, floor), max(l2, floor)
        p_n, p1, p2 = decoupled_3d(
            (u_n, x * u_1 + y * u_2, x * u_2 - y * u_1),
            (w_nn, x * w_n1 + y * w_n2, x * w_n2 - y * w_n1),
            (l1, l2, floor), (1.0 / w_nn, 1.0 / l1, 1.0 / l2), (mu_s, mu_d), cohesion,
        )  # fmt: skip
        return p_n, x * p1 - y * p2, y * p1 + x * p2

    return SimpleNamespace(
        coupled_2d=coupled_2d, coupled_3d=coupled_3d, decoupled_2d=decoupled_2d,
        decoupled_3d=decoupled_3d, slid_3d=slid_3d, inverses=inverses, eigenframe=eigenframe,
    )  # fmt: skip
