"""The exact, event-driven solver of a closed-contact array (Radjai et al. 1997)."""
