/// A commit that was durable according to the name of a file or the mark of the running system.
///
/// Checkpoints and closed marks exist only for durable commits, and their names contain the commit
/// even if their contents are unreadable.
struct DurableCommit {
    let commit: CommitID
    /// The file that names the commit.
    let file: String

    /// Returns the newest commit that the files of `volume` name; nil if none does.
    ///
    /// A mark of another store than `store` remains from files that are gone.
    static func newest(
        namedBy names: [(commit: CommitID, name: String)], in volume: any Volume, store: StoreID?
    ) -> DurableCommit? {
        var found = names.map { DurableCommit(commit: $0.commit, file: $0.name) }
        if let mark = SyncedMark.current(in: volume), mark.commit > 0,
            store == nil || mark.owner.store == store
        {
            found.append(DurableCommit(commit: mark.commit, file: FileName.syncedName))
        }
        return found.max { $0.commit < $1.commit }
    }
}
