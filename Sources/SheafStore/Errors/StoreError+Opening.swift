package import SheafAttachments
import SheafBytes
package import SheafDocument
import SheafStatements
package import SheafStorage
package import SheafSystem

extension StoreError {
    package static let closed = StoreError(.closed, "the store was closed", hint: "open it again")

    package init(_ error: AttachmentError) {
        self.init(Reason(error), error.description)
    }

    /// Creates the error of a thread that the system refused.
    package init(_ refusal: ThreadRefused) {
        self.init(
            .failed, "cannot start a thread: system error \(refusal.code)",
            hint: "end some threads and try again")
    }

    /// Creates the error of a failed opening, with the path, which most storage errors lack.
    package init(_ error: StorageError, openingAt path: String) {
        let text = error.description
        // The text may contain the path with its middle cut, so only the start is compared.
        let start = path.shortened(to: ErrorText.limit).prefix { $0 != "…" }
        self.init(
            Reason(error),
            text.contains(start) ? text : "\(path.shortened(to: ErrorText.limit)): \(text)",
            hint: error.isFull ? Self.diskFullHint : nil)
    }

    /// The hint for a store that cannot be opened because the disk is full.
    private static let diskFullHint =
        "opening a store for writing needs free space; with isReadOnly it can be read without. "
        + "On a full copy-on-write file system (btrfs, ZFS, bcachefs) overwriting and deleting "
        + "need space, too: truncate a large file, delete a snapshot, or add a device"
}

extension StoreError.Reason {
    fileprivate init(_ error: AttachmentError) {
        switch error {
        case .volume(let error): self = error.code.meansFull ? .full : .disk
        case .damaged, .wrongList, .wrongChunk: self = .damaged
        case .missing: self = .missing
        case .sourceChanged, .destinationExists: self = .conflict
        case .limit: self = .limit
        case .readOnly: self = .readOnly
        case .closed: self = .closed
        case .cancelled: self = .cancelled
        }
    }
}
