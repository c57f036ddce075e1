"""The pages of the standard: read, checked against themselves, each other and the registry, and reported on."""
