/// How much a pattern, and the search for it, may ask for.
package enum PatternLimits {
    /// The bytes of a pattern as it is written.
    package static let maximumLength = 64 << 10
    /// How deep groups lie in one another.
    package static let maximumDepth = 32
    /// The states of a pattern, after repetitions with a count were written out.
    package static let maximumStates = 100_000
    /// What one text may cost: about one for each byte and each state that is looked at there.
    package static let maximumFuel = 1 << 26
}
