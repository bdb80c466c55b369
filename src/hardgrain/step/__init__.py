"""One time step: contact dynamics."""
