package import SheafDocument

/// What peers exchange about the sites of stores.
extension SyncSession {
    /// Reports the site that this side writes with from now on.
    package mutating func report(_ site: Site) {
        guard isOpen else { return }
        send(.site, NewSite.bytes(site))
    }

    /// Reports that a site has writes that its store does not have.
    package mutating func report(_ forgotten: ForgottenWrite) {
        guard isOpen else { return }
        send(.forgotten, forgotten.bytes)
    }

    /// Reports the pauses of the site of any store.
    package mutating func report(_ pauses: SitePauses) {
        guard isOpen else { return }
        send(.pauses, pauses.bytes)
    }
}
