package import SheafReplication
import SheafSystem

/// Requests of a hub to its peer.
extension Peer {
    /// Calls `body` on the replication thread; with nil after the peer has stopped.
    package func request(_ body: @escaping @Sendable (Replicator?) -> Void) {
        sync.loop.post(.request(body))
    }

    /// Blocks until `body` has run on the replication thread.
    ///
    /// Returns nil if the thread does not respond before the deadline, or has stopped; without a
    /// deadline, only if it has stopped.
    package func answer<Answer: Sendable>(
        until deadline: UInt64? = nil, _ body: @escaping @Sendable (Replicator) -> Answer
    ) -> Answer? {
        let answer = Monitor<(isThere: Bool, answer: Answer?)>((false, nil))
        request { replicator in
            answer.withLock { $0 = (true, replicator.map(body)) }
            answer.broadcast()
        }
        return answer.wait(until: deadline, while: { !$0.isThere }, then: { $0.answer })
    }
}
