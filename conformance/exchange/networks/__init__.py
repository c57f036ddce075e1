"""Networks that people name: their graphs, made from published layer tables without weights, and their layers."""
