"""Contact detection: which pairs may touch soon (broad phase), and which do now (narrow phase)."""
