import Testing

/// All tests of the inspector, one after the other: many of them wait for deadlines.
@Suite(.serialized, .blocking) enum InspectorTests {}
