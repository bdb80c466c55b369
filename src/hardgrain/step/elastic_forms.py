"""The matrices of deformable grains: stiffness, and the compliance that a step needs.

With masses M of the nodes, stiffness K and Rayleigh's damping α M + β K, the rates w of a grain
change in a step by an impulse g on its nodes as (see `hardgrain.step.elastic_dynamics`)

    (1 + θ dt α) M Δw + (θ² dt² + θ dt β) K Δw = g.

Rigid motions are no part of w, being those of the body. They are the null space of K, so that the
solution splits: with rows b of B that are rigid motions, orthonormal under M (b·M b' = δ), and the
matrix A on the left,

    Δw = D g,     D = A⁻¹ − BᵀB / (1 + θ dt α).

A is sparse and factorised once for each form; D is dense, and all grains of a form share it.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, diags_array

from hardgrain.contact.surface_rows import Flat
from hardgrain.core.deformation import Form
from hardgrain.core.model import Floats
from hardgrain.scene.elastic_mesh import Mesh, stiffness
from hardgrain.step.elastic_kernel import Matrices

__all__ = ["compliance", "matrices_of", "rigid_motions", "stiffness_of"]

COLUMNS = 256  # columns of the identity that are solved for at a time


def stiffness_of(form: Form) -> csr_array:
    """K of a form, (dof, dof), node after node."""
    dim, n = form.node.shape[1], len(form.node)
    blocks = stiffness(Mesh(form.node, form.element), form.lame)
    dof = (form.element[:, :, None] * dim + np.arange(dim)).reshape(len(blocks), -1)
    row = np.repeat(dof, dof.shape[1], axis=1).ravel()
    column = np.tile(dof, (1, dof.shape[1])).ravel()
    found = csr_array(coo_array((blocks.ravel(), (row, column)), (n * dim, n * dim)))
    found.sum_duplicates()
    return found


def rigid_motions(form: Form) -> Floats:
    """(3 or 6, dof) displacements and small rotations, orthonormal under the masses."""
    n, dim = form.node.shape
    motion = np.zeros((3 if dim == 2 else 6, n, dim))
    for a in range(dim):
        motion[a, :, a] = 1.0
    x = form.node
    if dim == 2:
        motion[2] = np.stack([-x[:, 1], x[:, 0]], axis=1)
    else:
        for a in range(3):
            motion[3 + a] = np.cross(np.eye(3)[a], x)
    flat, root = motion.reshape(len(motion), -1), np.repeat(np.sqrt(form.mass), dim)
    q, _ = np.linalg.qr((flat * root).T)
    found: Floats = q.T / root
    return found


def compliance(form: Form, k: csr_array, theta: float, dt: float) -> Floats:
    """D, dense, (dof, dof)."""
    from scipy.sparse.linalg import splu

    alpha, beta = form.damping
    dim, slow = form.node.shape[1], 1.0 + theta * dt * alpha
    mass = np.repeat(form.mass, dim)
    a = diags_array(slow * mass) + (theta**2 * dt**2 + theta * dt * beta) * k
    solve = splu(
        csc_array(a), options={"SymmetricMode": True}, diag_pivot_thresh=0.0,
        permc_spec="MMD_AT_PLUS_A",
    ).solve  # fmt: skip
    n = mass.size
    found = np.empty((n, n))
    for at in range(0, n, COLUMNS):
        part = np.eye(n, min(COLUMNS, n - at), -at)
        found[:, at : at + part.shape[1]] = solve(part)
    b = rigid_motions(form)
    found -= np.einsum("ra,rb->ab", b, b) / slow
    even: Floats = 0.5 * (found + found.T)
    return even


def matrices_of(forms: tuple[Form, ...], flat: Flat, theta: float, dt: float) -> Matrices:
    """Stiffness and compliance of all forms as flat arrays."""
    dense, rows, columns, values = [], [], [], []
    first_row, entries = [0], 0
    for form in forms:
        k = stiffness_of(form)
        dense.append(compliance(form, k, theta, dt).ravel())
        rows.append(k.indptr + entries)
        columns.append(k.indices)
        values.append(k.data)
        first_row.append(first_row[-1] + k.indptr.size)
        entries += k.nnz
    begin = np.concatenate([[0], np.cumsum([d.size for d in dense])]).astype(np.int64)
    return Matrices(
        flat.form, flat.start, flat.first_node, np.concatenate([form.mass for form in forms]),
        np.array([form.damping for form in forms], float), begin, np.concatenate(dense),
        np.concatenate(rows).astype(np.int32), np.array(first_row, np.int32),
        np.concatenate(columns).astype(np.int32), np.concatenate(values),
    )  # fmt: skip
