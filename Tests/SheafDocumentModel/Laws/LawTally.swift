/// What was held against the laws of documents, and the first breach of one.
package struct LawTally: Sendable {
    /// Histories of some peers.
    package var histories = 0
    /// Triples of states whose joins were compared.
    package var triples = 0
    /// States and joins that were also validated, and held against the model.
    package var samples = 0
    /// Deltas, each taken to states that had seen what it builds on.
    package var deltas = 0
    /// Deltas that were joined with others, and the joins compared.
    package var joinedDeltas = 0
    /// Joins of a delta with a state, each compared with the join of the states.
    package var applications = 0
    package var breach: String?

    package init() {}

    package mutating func add(_ other: LawTally) {
        histories += other.histories
        triples += other.triples
        samples += other.samples
        deltas += other.deltas
        joinedDeltas += other.joinedDeltas
        applications += other.applications
        breach = breach ?? other.breach
    }

    /// Keeps a breach, if it is the first one.
    mutating func note(_ breach: @autoclosure () -> String?) {
        if self.breach == nil { self.breach = breach() }
    }
}
