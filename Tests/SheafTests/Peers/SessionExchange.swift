import Sheaf
import SheafSync

extension SyncHost {
    /// Delivers messages between this host and a session of another peer, and gives both turns, until there is
    /// nothing to do.
    ///
    /// The session compares with `list`, and names at most `most` documents at a time in what it wants. `onStep` gets
    /// its steps, `onSubscribe` what the host subscribes to, and `onClose` the reason for which the host has ended the
    /// connection.
    func exchange(
        with session: inout SyncSession, on wire: UInt64, at now: UInt64, list: VersionList,
        most: Int = SyncLimits.wantedDocuments, onStep: (ShippedStep) -> Void,
        onSubscribe: (Subscribe) -> Void = { _ in }, onClose: (Farewell) -> Void = { _ in }
    ) {
        var isBusy = true
        while isBusy {
            isBusy = false
            while let effect = session.takeEffect() {
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
            for effect in takeEffects() {
                isBusy = true
                switch effect {
                case .send(wire, let bytes):
                    bytes.withUnsafeBytes { session.receive($0, at: now) }
                case .close(wire, let reason): onClose(reason)
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
