import Testing

/// All tests of the inspector.
///
/// Those of a suite run one after the other, because many of them wait for deadlines.
@Suite(.blocking) enum InspectorTests {}
