"""The masonry arch: how thin a semicircular arch of stones may be before it falls (Milankovitch).

Stones between radii r_i = R − t/2 and r_e = R + t/2 touch in radial joints, bear no tension and do
not slide (Heyman's assumptions). By symmetry half an arch is enough. At the crown it is pushed by a
horizontal thrust H; M is the moment of this thrust about the centre of the circle. The part between
the crown and the joint at an angle φ from the vertical has the weight W, whose moment about the
centre is S. So the force in this joint has the normal component N = H cos φ + W sin φ, and the
moment about the centre gives the radius r at which it acts,

    r N = M + S,        and the joint can bear it if        r_i ≤ r ≤ r_e.

The arch stands if some H and M satisfy this in all joints. The thinnest one turns about five
hinges: the force is at the outer edge at the crown and the springings, where H r_e = M and
W r_e = M + S, and at the inner edge at a joint of the haunches, where r_i N = M + S. The latter is
an equation for t. Of all joints the one that asks for the largest t decides.

A stone whose inner and outer sides are straight has corners on both circles. With the angle δ that
it spans its area is sin δ (r_e² − r_i²)/2, and its centre lies at the radius
(2/3) cos(δ/2) (r_e³ − r_i³)/(r_e² − r_i²). For δ → 0 this is the arch of Milankovitch (1907), whose
t/R = 0.1075, with hinges at 54.5°; Heyman's 0.106 takes weights to lie at the radius R.
"""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["ThinnestArch", "centre_of_stone", "thinnest_arch"]


class ThinnestArch(NamedTuple):
    """The thinnest semicircular arch that stands."""

    thickness: float  # t/R, with R the mean radius
    hinge: float  # angle of the hinges in the haunches from the vertical [rad]


def centre_of_stone(thickness: float, angle: float) -> float:
    """Radius of the centre of mass of a stone with straight sides that spans an angle [R]."""
    inner, outer = 1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness
    return 2.0 / 3.0 * math.cos(0.5 * angle) * (outer**3 - inner**3) / (outer**2 - inner**2)


def thinnest_arch(stones: int | None = None) -> ThinnestArch:
    """The least t/R of an arch of an even number of stones; None: of infinitely many."""
    if stones is None:
        low, high = 0.5, 1.4  # [rad] a joint in between asks for most, and its neighbours for less
        while high - low > 1e-7:  # where it is flat, so that t/R is known to 1e-14
            third = (high - low) / 3.0
            if _thickness(0.0, low + third) < _thickness(0.0, high - third):
                low += third
            else:
                high -= third
        return ThinnestArch(_thickness(0.0, low), low)
    if stones < 4 or stones % 2:
        raise ValueError(
            f"stones is {stones}; give an even number from 4, for a joint at the crown"
        )
    angle = math.pi / stones
    joints = [k * angle for k in range(1, stones // 2)]
    return max(ThinnestArch(_thickness(angle, phi), phi) for phi in joints)


def _thickness(angle: float, joint: float) -> float:
    """The t/R with a hinge in the joint at an angle from the vertical; zero if there is none."""
    low, high = 1e-6, 1.0
    below = _excess(low, angle, joint)
    if below * _excess(high, angle, joint) > 0.0:
        return 0.0
    while (middle := 0.5 * (low + high)) not in (low, high):
        if _excess(middle, angle, joint) * below > 0.0:
            low = middle
        else:
            high = middle
    return high


def _excess(thickness: float, angle: float, joint: float) -> float:
    """M + S − r_i N in a joint, for hinges at the crown and the springings."""
    inner, outer = 1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness
    density = math.sin(angle) / angle if angle else 1.0  # area over that between the circles
    centre = centre_of_stone(thickness, angle)
    # δ Σ sin over the middles of all stones up to φ is this times 1 − cos φ, the integral.
    sums = 0.5 * angle / math.sin(0.5 * angle) if angle else 1.0

    def weight(phi: float) -> float:
        return density * phi

    def moment(phi: float) -> float:
        return density * centre * sums * (1.0 - math.cos(phi))

    end = 0.5 * math.pi
    whole = weight(end) * outer - moment(end)
    thrust = whole / outer
    normal = thrust * math.cos(joint) + weight(joint) * math.sin(joint)
    return whole + moment(joint) - inner * normal
