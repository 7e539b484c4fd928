import SheafAttachments
public import SheafDocument
import SheafStorage

/// The progress of a backup.
public struct BackupProgress: Equatable, Sendable {
    /// The current step of a backup.
    public enum Phase: Equatable, Sendable {
        /// Files are copied.
        case copying
        /// The copy is read and checked.
        case verifying
    }

    /// The current step.
    public let phase: Phase
    /// The number of bytes copied or shared so far.
    public let doneBytes: Int
    /// The number of bytes of the backup; the attachments come first, and then all is counted.
    public let totalBytes: Int
}

extension BackupProgress {
    init(_ progress: CopyProgress) {
        switch progress.phase {
        case .copying: phase = .copying
        case .verifying: phase = .verifying
        }
        doneBytes = progress.doneBytes
        totalBytes = progress.totalBytes
    }
}

/// The result of a backup.
public struct BackupSummary: Equatable, Sendable {
    /// The ID of the last commit in the backup.
    public let commit: UInt64
    /// The number of bytes that were copied.
    public let copiedBytes: Int
    /// The number of files that were copied.
    public let copiedFiles: Int
    /// The number of bytes shared with the earlier backup.
    public let sharedBytes: Int
    /// The number of files shared with the earlier backup.
    public let sharedFiles: Int
    /// The damaged attachments that the backup does not have, because no document references them.
    public let omittedAttachments: [AttachmentID]
}

extension BackupSummary {
    init(_ report: CopyReport) {
        commit = report.commit
        copiedBytes = report.copiedBytes
        copiedFiles = report.copiedFiles
        sharedBytes = report.sharedBytes
        sharedFiles = report.sharedFiles
        omittedAttachments = report.omittedAttachments.compactMap { finding in
            AttachmentVerification.id(ofFile: finding.file)
        }
    }
}
