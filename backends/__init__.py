"""Who is tested: the Backend protocol, the loader, and the backends that come with this project."""
