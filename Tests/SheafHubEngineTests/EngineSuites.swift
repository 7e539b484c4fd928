import Testing

/// Tests with brokers of NATS, one after the other: they share the processors with their servers.
@Suite(.serialized) struct NATSTests {}

/// Tests with servers of PostgreSQL, one after the other.
@Suite(.serialized) struct PostgreSQLTests {}
