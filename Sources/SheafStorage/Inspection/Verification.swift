import SheafBytes

/// One thing that a look at a store's files has found.
package struct Finding: Equatable, Sendable {
    /// How bad a finding is.
    package enum Severity: String, Sendable {
        /// Nothing is wrong: what a crash may leave behind, or a file that is not the store's.
        case note
        /// Something is wrong that the log makes good by itself.
        case warning
        /// Bytes that had reached the disk are not what was written.
        case damage
    }

    package let severity: Severity
    package let file: String
    package let offset: Int
    package let reason: String

    package init(_ severity: Severity, _ file: String, at offset: Int, _ reason: String) {
        self.severity = severity
        self.file = file
        self.offset = offset
        self.reason = reason
    }
}

extension Finding: CustomStringConvertible {
    package var description: String {
        "\(file.shortened(to: ErrorText.limit)):\(offset): \(reason)"
    }
}

/// What the verification of a store has counted and found.
package struct Verification: Sendable {
    /// So many findings are kept; more of them are only counted.
    package static let maximumFindings = 10_000

    /// In the order of the files, and in each file about in the order of the offsets.
    package private(set) var findings: [Finding] = []
    /// How many findings there were beyond the limit.
    package private(set) var omittedCount = 0
    /// Whether there was any damage, be it among the findings or beyond their limit.
    package private(set) var isDamaged = false

    package internal(set) var store: StoreID?
    package internal(set) var segmentCount = 0
    package internal(set) var baseCount = 0
    package internal(set) var checkpointCount = 0
    /// How many of the checkpoints an opening could start from.
    package internal(set) var usableCheckpointCount = 0
    /// The bytes of all files that were read.
    package internal(set) var byteCount = 0
    package internal(set) var recordCount = 0
    /// Commits that stand in the log as they were written.
    package internal(set) var commitCount = 0
    package internal(set) var operationCount = 0
    /// The last commit of the log.
    package internal(set) var lastCommit: CommitID = 0
    /// How many keys have a payload; none when damage keeps that from being known.
    package internal(set) var keyCount: Int?

    mutating func note(_ file: String, at offset: Int, _ reason: String) {
        add(Finding(.note, file, at: offset, reason))
    }

    mutating func warn(_ file: String, at offset: Int, _ reason: String) {
        add(Finding(.warning, file, at: offset, reason))
    }

    mutating func damage(_ file: String, at offset: Int, _ reason: String) {
        add(Finding(.damage, file, at: offset, reason))
    }

    mutating func damage(_ file: String, _ error: FormatError, shiftedBy base: Int = 0) {
        let hint = error.isUnsupported ? "; a newer program may have written it" : ""
        damage(file, at: error.offset + base, error.reason + hint)
    }

    private mutating func add(_ finding: Finding) {
        if finding.severity == .damage { isDamaged = true }
        guard findings.count < Self.maximumFindings else {
            omittedCount += 1
            return
        }
        findings.append(finding)
    }
}
