"""Columns of the table of contact laws: one row of parameters for each pair of materials."""

MU_STATIC = 0  # friction coefficient of a sticking contact [1]
MU_DYNAMIC = 1  # friction coefficient of a sliding contact [1]
E_NORMAL = 2  # Newton restitution along the normal [1]
E_TANGENT = 3  # Newton restitution along the tangents [1]
COHESION = 4  # largest tensile force [force]
COHESION_RANGE = 5  # gap up to which cohesion acts [length]
ROLLING = 6  # rolling resistance, torque limit / (effective radius × normal force) [1]
TORSION = 7  # resistance to spinning about the normal, likewise, 3D only [1]
E_SPEED = 8  # approach speed at which the normal restitution is E_NORMAL, 0: at all [speed]
N_PARAMETERS = 9  # number of these columns; a new law adds its own as the last
FORMER_PARAMETERS = 8  # of files written before restitution could depend on the speed
