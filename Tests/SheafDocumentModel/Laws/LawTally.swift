/// The numbers of checks of the laws of documents, and the first violation.
package struct LawTally: Sendable {
    package var histories = 0
    /// Triples of states whose joins were compared.
    package var triples = 0
    /// States and joins validated and compared with the model.
    package var samples = 0
    /// Deltas, each joined with states that cover its base.
    package var deltas = 0
    /// Joins of deltas with other deltas.
    package var joinedDeltas = 0
    /// Joins of a delta with a state, compared with the join of states.
    package var applications = 0
    package var violation: String?

    package init() {}

    package mutating func add(_ other: LawTally) {
        histories += other.histories
        triples += other.triples
        samples += other.samples
        deltas += other.deltas
        joinedDeltas += other.joinedDeltas
        applications += other.applications
        violation = violation ?? other.violation
    }

    /// Records a violation if it is the first one.
    mutating func record(_ violation: @autoclosure () -> String?) {
        if self.violation == nil { self.violation = violation() }
    }
}
