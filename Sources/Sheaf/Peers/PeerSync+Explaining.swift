package import SheafDocument
import SheafStorage

/// For tools that show people what a peer does; the calls keep the thread while they wait for the peer.
extension PeerSync {
    /// How far all peers are that were met since the store was opened.
    package func surveys() throws -> [PeerSurvey] {
        try ask { $0.surveys() }
    }

    /// What became of a document on its way to a peer; nothing where that peer was never met.
    package func explanation(
        of collection: String, _ id: Value, for peer: PeerKey
    ) throws -> SyncExplanation? {
        let result = try ask { host in
            Result { try host.explanation(of: collection, id, for: peer) }
        }
        return try result.get()
    }

    /// The newest commit that is durable.
    package var newestCommit: UInt64 { store.queries.snapshot().log.commit }

    /// Asks the peer, and waits for the answer.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (SyncHost) -> Answer
    ) throws -> Answer {
        let answer = Monitor<Answer??>(nil)
        loop.post(
            .asked { host in
                let found = host.map(question)
                answer.withLock { $0 = .some(found) }
                answer.broadcast()
            })
        let known: Answer? = answer.wait(while: { $0 == nil }, then: { $0 ?? nil })
        guard let known else { throw StoreError.closed }
        return known
    }
}
