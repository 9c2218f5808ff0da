"""Doors to other programs: assistants (MCP), Label Studio, Immich. Each is imported only where it is used."""
