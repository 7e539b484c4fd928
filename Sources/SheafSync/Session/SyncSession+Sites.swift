package import SheafDocument

/// Reports about the sites of stores.
extension SyncSession {
    /// Reports the site of all further local writes.
    package mutating func report(_ site: Site) {
        guard isOpen else { return }
        send(.site, NewSite.bytes(site))
    }

    /// Reports a write that the peer has lost, or another peer with its site.
    package mutating func report(_ lostWrite: LostWrite) {
        guard isOpen else { return }
        send(.lostWrite, lostWrite.bytes)
    }

    /// Reports the write pauses of a site.
    package mutating func report(_ pauses: SitePauses) {
        guard isOpen else { return }
        send(.pauses, pauses.bytes)
    }
}
