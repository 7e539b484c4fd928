import Testing

/// All tests of the inspector, one after the other.
///
/// Their clients block the threads that other tasks need.
@Suite(.serialized) enum InspectorTests {}
