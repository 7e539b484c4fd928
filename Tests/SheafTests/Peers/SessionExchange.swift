import Sheaf
import SheafReplication
import SheafSync

extension Replicator {
    /// Exchanges messages with a session of another peer, and runs turns, until both are idle.
    ///
    /// The session reconciles with `list`, and names at most `most` documents in each part of its
    /// want message. `onStep` receives the batches for the session, `onSubscribe` the
    /// subscriptions of the replicator, `onClose` the close reason, and `onRefusals` all documents
    /// that the other peer refuses.
    func exchange(
        with session: inout SyncSession, on wire: UInt64, at now: UInt64, list: VersionList,
        most: Int = SyncLimits.wantedDocuments, onStep: (ShippedStep) -> Void,
        onSubscribe: (Subscribe) -> Void = { _ in }, onClose: (CloseMessage) -> Void = { _ in },
        onRefusals: (PeerRefusals) -> Void = { _ in }
    ) {
        var isBusy = true
        while isBusy {
            isBusy = false
            while let effect = session.nextEffect() {
                isBusy = true
                switch effect {
                case .send(let bytes):
                    bytes.withUnsafeBytes { receive($0, on: wire, at: now) }
                case .listOwn: session.compare(with: list, most: most)
                case .apply(let step): onStep(step)
                case .subscribed(let request): onSubscribe(request)
                default: break
                }
            }
            for effect in drainEffects() {
                isBusy = true
                switch effect {
                case .send(wire, let bytes):
                    bytes.withUnsafeBytes { session.receive($0, at: now) }
                case .close(wire, let reason): onClose(reason)
                case .refusalsChanged(_, let all, _): onRefusals(all)
                default: break
                }
            }
            if let deadline, deadline <= now {
                isBusy = true
                tick(at: now)
            }
        }
    }
}
