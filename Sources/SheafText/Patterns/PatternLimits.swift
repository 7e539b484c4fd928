/// Limits of patterns and of matching.
package enum PatternLimits {
    /// Maximum length of a pattern in bytes.
    package static let maximumLength = 64 << 10
    /// Maximum nesting of groups.
    package static let maximumDepth = 32
    /// Maximum number of states, after counted repetitions are expanded.
    package static let maximumStates = 100_000
    /// Fuel for matching a text: about one unit per byte and state visited.
    package static let maximumFuel = 1 << 26
}
