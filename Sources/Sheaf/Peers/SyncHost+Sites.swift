import SheafSync

/// Stores that were put back to an older state.
extension SyncHost {
    /// Writes to the log that a peer knows writes of this store that the store has not.
    func noteLackingOwnWrites(knownBy link: Link) {
        guard let key = link.session.remote?.peerKey else { return }
        queries.log?.write(
            .error,
            "a peer knows writes of this store that are not in it: an older state was put in its place, or a "
                + "copy of it is in use; it writes with another site from now on",
            ["peer": PeerKey(unchecked: key).description])
    }
}
