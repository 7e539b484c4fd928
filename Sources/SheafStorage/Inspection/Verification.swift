import SheafBytes

/// An observation about a file of a store.
package struct Finding: Equatable, Sendable {
    /// The severity of a finding.
    package enum Severity: String, Sendable {
        /// A normal condition, such as the remains of a crash or a foreign file.
        case note
        /// A defect that the log compensates for.
        case warning
        /// Durable bytes that differ from what was written.
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

/// The counts and findings of a verification.
package struct Verification: Sendable {
    /// The maximum number of findings kept; further ones are only counted.
    package static let maximumFindings = 10_000

    /// The findings by file, in approximate order of their offsets.
    package private(set) var findings: [Finding] = []
    /// The number of findings beyond the limit.
    package private(set) var omittedCount = 0
    /// Whether any finding is damage, including those beyond the limit.
    package private(set) var isDamaged = false

    package internal(set) var store: StoreID?
    package internal(set) var segmentCount = 0
    package internal(set) var baseCount = 0
    package internal(set) var checkpointCount = 0
    /// The number of checkpoints from which the store can be opened.
    package internal(set) var usableCheckpointCount = 0
    /// The length of all files read, in bytes.
    package internal(set) var byteCount = 0
    package internal(set) var recordCount = 0
    /// The number of commits in log segments.
    package internal(set) var commitCount = 0
    package internal(set) var operationCount = 0
    /// The last commit of the log.
    package internal(set) var lastCommit: CommitID = 0
    /// The number of keys that have a payload; nil if damage makes it unknown.
    package internal(set) var keyCount: Int?

    package init() {}

    /// Adds a finding of a normal condition.
    mutating func addNote(_ file: String, at offset: Int, _ reason: String) {
        add(Finding(.note, file, at: offset, reason))
    }

    /// Adds a finding of a defect that the log compensates for.
    mutating func warn(_ file: String, at offset: Int, _ reason: String) {
        add(Finding(.warning, file, at: offset, reason))
    }

    /// Removes the notes at a place where the next opening fails.
    mutating func removeNotes(_ file: String, at offset: Int) {
        findings.removeAll {
            $0.severity == .note && $0.file == file && $0.offset == offset
        }
    }

    /// Adds a finding of damage.
    mutating func damage(_ file: String, at offset: Int, _ reason: String) {
        add(Finding(.damage, file, at: offset, reason))
    }

    /// Adds a finding of damage for an error at an offset relative to `base`.
    mutating func damage(_ file: String, _ error: FormatError, shiftedBy base: Int = 0) {
        let hint = error.isUnsupported ? "; a newer program may have written it" : ""
        damage(file, at: error.offset + base, error.reason + hint)
    }

    /// Adds a finding, or counts it if there are too many.
    package mutating func add(_ finding: Finding) {
        if finding.severity == .damage { isDamaged = true }
        guard findings.count < Self.maximumFindings else {
            omittedCount += 1
            return
        }
        findings.append(finding)
    }
}
