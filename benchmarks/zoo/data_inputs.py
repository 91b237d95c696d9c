"""Measurements and molecules in the forms in which models take them."""

import numpy as np

from .entry import Maker, Shape, Shapes

ATOMS, NEIGHBOURS = 8, 16
"""Atoms of a residue, and edges from each atom."""
HELIX = {"radius": 2.3, "turn": 0.22, "rise": 0.19}
"""Radius in angstrom, and the turn and the rise from atom to atom."""


def features(shape: Shape) -> np.ndarray:
    """Drawn rows of a table: shares, and rates over several orders of magnitude."""
    random = np.random.default_rng(0)
    shares, rates = random.random(shape), np.exp(random.normal(2, 2, shape))
    return np.where(np.arange(shape[-1]) % 3 == 0, rates, shares)


def brain_waves(shape: Shape) -> np.ndarray:
    """Channels of waves of 1 to 30 periods a signal, the slower the larger, and noise."""
    random = np.random.default_rng(0)
    *channels, length = shape
    time = np.arange(length) / length
    waves = 0.3 * random.standard_normal(shape)
    for periods in (1, 4, 10, 13, 30):
        phases = random.uniform(0, 2 * np.pi, (*channels, 1))
        waves += np.sin(2 * np.pi * periods * time + phases) / np.sqrt(periods)
    return waves.astype(np.float32)


def noise(shape: Shape) -> np.ndarray:
    """Standard normal numbers."""
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def constant(*values: float) -> Maker:
    """The first of `values`, as many as there are examples."""
    return lambda shape: np.resize(np.float32(values), shape)


def protein_shapes(residues: int) -> dict[str, Shape]:
    """Shapes of the inputs that `protein` makes."""
    atoms, edges = ATOMS * residues, ATOMS * NEIGHBOURS * residues
    of_atoms = {
        name: (atoms,) for name in ("element", "amino_acid", "atom_role", "bfactor")
    }  # fmt: skip
    of_edges = {
        name: (edges,) for name in ("edge_dist", "seq_sep", "same_residue", "is_hbond", "hb_cos")
    }
    return {
        **of_atoms, "edge_index": (2, edges), **of_edges, "pos": (atoms, 3),
        "node_normal": (atoms, 3), "target_indices": (residues, 6), "target_mask": (residues, 6),
        "residue_types": (residues,), "residue_geometry": (residues, 52),
        "target_environment": (residues, 6, 15), "temperature_feature": (residues, 1),
        "target_atom_rsasa": (residues, 6),
    }  # fmt: skip


PROTEIN_DTYPES = dict.fromkeys(
    ("element", "amino_acid", "atom_role", "edge_index", "seq_sep", "target_indices",
     "residue_types"), "int64",
) | {"target_mask": "bool"}  # fmt: skip


def protein(shapes: Shapes) -> dict[str, np.ndarray]:
    """A helix of drawn residues as a graph: an edge to each of the nearest atoms along it."""
    random = np.random.default_rng(0)
    (atoms,), (residues,) = shapes["element"], shapes["residue_types"]
    number = np.arange(atoms)
    angle = HELIX["turn"] * number
    x, y = HELIX["radius"] * np.cos(angle), HELIX["radius"] * np.sin(angle)
    places = np.stack([x, y, HELIX["rise"] * number], axis=1).astype(np.float32)
    sources = np.repeat(number, NEIGHBOURS)
    steps = np.tile(np.arange(1, NEIGHBOURS + 1), atoms)
    targets = (sources + steps) % atoms
    between = np.minimum(abs(sources // ATOMS - targets // ATOMS), 31)
    types = random.integers(0, 20, residues)
    given: dict[str, np.ndarray] = {
        "element": number % 4, "amino_acid": types.repeat(ATOMS), "atom_role": number % ATOMS,
        "edge_index": np.stack([sources, targets]), "seq_sep": between,
        "edge_dist": np.linalg.norm(places[sources] - places[targets], axis=1),
        "same_residue": between == 0, "is_hbond": steps == NEIGHBOURS, "pos": places,
        "node_normal": np.stack([x, y, 0 * x], axis=1) / HELIX["radius"], "residue_types": types,
        "target_indices": np.arange(residues)[:, None] * ATOMS + np.arange(6),
        "target_mask": np.ones((residues, 6)),
    }  # fmt: skip
    return {
        name: np.asarray(given.get(name, random.random(shape))).astype(
            PROTEIN_DTYPES.get(name, "float32")
        )
        for name, shape in shapes.items()
    }
