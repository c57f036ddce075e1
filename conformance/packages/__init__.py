"""Making certification packages: profiles, what is stated of a product, and the files around a campaign's reports."""
