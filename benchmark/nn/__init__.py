"""The Transformer every family builds on. Importing this package does not import torch; its modules do."""
