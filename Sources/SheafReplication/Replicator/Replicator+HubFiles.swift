package import SheafDocument
import SheafEngine
import SheafStorage

/// The attachments of a hub, which puts the files of all documents into the object store.
extension Replicator {
    /// The attachments that peers, or this one, fetch and that are not stored here, in the order of
    /// their requests.
    package var fetchedFiles: [AttachmentID] { transfer.fetched }

    /// Seeks attachments at the connected peers for the object store.
    ///
    /// It ends the search for those of an earlier call that are not in `ids`.
    package func seekForHub(_ ids: Set<AttachmentID>) {
        transfer.seekForHub(ids)
        pump()
    }

    /// Requests the proofs of attachments with unproven tokens in a commit or before.
    ///
    /// Returns false if the commit has not been read yet.
    package func requestProofs(of ids: Set<AttachmentID>, through commit: UInt64) -> Bool {
        guard transfer.snapshot.log.commit >= commit else { return false }
        transfer.requestProofs(of: ids)
        pump()
        return true
    }

    /// Offers attachments that another thread has stored to the peers that request them.
    package func completeStoredFiles() {
        transfer.completeStored()
        pump()
    }

    /// Appends documents to the hub log again whose tokens were proven.
    ///
    /// A proof changes no document, so it is in no group.
    package func appendAgain(_ keys: Set<[UInt8]>) {
        feed?.again.formUnion(keys)
        feedPublished()
        pump()
    }
}
