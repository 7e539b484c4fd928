/// The progress of a backup.
package struct CopyProgress: Sendable {
    /// The current step of a backup.
    package enum Phase: Sendable {
        case copying
        /// The copy is read and checked.
        case verifying
    }

    package internal(set) var phase = Phase.copying
    /// The number of bytes copied or shared so far.
    package internal(set) var doneBytes = 0
    /// The number of bytes of the backup, as far as known.
    package internal(set) var totalBytes = 0
}

/// The result of a backup.
package struct CopyReport: Sendable {
    /// The last commit of the backup.
    package internal(set) var commit: CommitID = 0
    /// Bytes and files read from the store.
    package internal(set) var copiedBytes = 0
    package internal(set) var copiedFiles = 0
    /// Bytes and files shared with the earlier backup.
    package internal(set) var sharedBytes = 0
    package internal(set) var sharedFiles = 0
    /// The damage of attachments that were left out, because no document references them.
    package internal(set) var omittedAttachments: [Finding] = []

    /// Counts a file.
    mutating func count(_ bytes: Int, isShared: Bool) {
        if isShared {
            sharedBytes += bytes
            sharedFiles += 1
        } else {
            copiedBytes += bytes
            copiedFiles += 1
        }
    }
}
