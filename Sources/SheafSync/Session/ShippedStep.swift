/// Commits that are applied all at once, or not at all: mostly one, and several where one is long.
package struct ShippedStep: Equatable, Sendable {
    package let generation: UInt64
    package internal(set) var commits: [ShippedCommit] = []
    /// How many bytes came for it, for which there is credit when it was applied.
    package internal(set) var length = 0

    /// The state of the other side that this side has then.
    package var commit: UInt64 { commits.last?.commit ?? 0 }
}
