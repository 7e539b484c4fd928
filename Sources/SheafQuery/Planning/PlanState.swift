/// The state of a store that plans depend on; equal states yield equal plans.
package struct PlanState: Equatable, Sendable {
    /// Identifier of the store, unique within the process.
    private let store: UInt64
    private let commit: UInt64
    /// Number of names in the dictionary, which may grow between commits.
    private let nameCount: Int
    private let hasIndexes: Bool

    package init(store: UInt64, commit: UInt64, nameCount: Int, hasIndexes: Bool) {
        self.store = store
        self.commit = commit
        self.nameCount = nameCount
        self.hasIndexes = hasIndexes
    }

    /// Whether a plan for one state uses valid name numbers and indexes in the other.
    func isCompatible(with other: PlanState) -> Bool {
        store == other.store && nameCount == other.nameCount && hasIndexes == other.hasIndexes
    }
}
