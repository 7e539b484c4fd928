package import SheafDocument
package import SheafStorage

/// The counts of a check of all stored attachments against their ids.
///
/// One chunk is in memory at a time. Files that a writer adds or removes during the check may be
/// missing from it.
package struct AttachmentVerification: Sendable {
    /// The number of attachments in the directory, complete or partial.
    package private(set) var fileCount = 0
    /// The number of findings, one for each file that does not match its id.
    package private(set) var findingCount = 0
    /// Whether any finding is damage.
    package private(set) var isDamaged = false

    private init() {}

    /// Reads all attachments of the store in `parent`, and calls `report` for each finding.
    package static func verify(
        _ parent: any Volume, _ report: (Finding) -> Void
    ) throws(StorageError) -> AttachmentVerification {
        var result = AttachmentVerification()
        let (volume, names): ((any Volume)?, [String])
        do throws(VolumeError) {
            volume = try parent.directory(FileName.attachmentsName, creating: false)
            names = try volume?.names().sorted() ?? []
        } catch {
            guard !error.code.isAboutProcess else { throw .io(error) }
            result.add(Finding(.damage, FileName.attachmentsName, at: 0, "\(error)"), report)
            return result
        }
        guard let volume else { return result }
        for name in names where AttachmentName(name).id != nil {
            result.fileCount += 1
            if let finding = try finding(of: name, in: volume, eachChunk: {}) {
                result.add(finding, report)
            }
        }
        return result
    }

    private mutating func add(_ finding: Finding, _ report: (Finding) -> Void) {
        findingCount += 1
        if finding.severity == .damage { isDamaged = true }
        report(finding)
    }

    /// Compares a file of the directory of attachments with its id; nil if it matches.
    ///
    /// Foreign files and files that no longer exist have no finding. `proceed` is called before
    /// each chunk; an error that it throws ends the check.
    package static func finding(
        of name: String, in volume: any Volume, eachChunk proceed: () throws(StorageError) -> Void
    ) throws(StorageError) -> Finding? {
        let kind = AttachmentName(name)
        guard let id = kind.id else { return nil }
        let file: AttachmentFile
        do throws(AttachmentError) {
            file = try AttachmentFile.open(id, isComplete: kind.isComplete, in: volume)
        } catch .volume(let error) where error.code == .noSuchFile {
            return nil
        } catch {
            return try finding(error, name, kind, isHeader: true)
        }
        defer { file.close() }
        for chunk in 0..<file.chunkCount where file.header.storedChunks.contains(chunk) {
            try proceed()
            do throws(AttachmentError) { _ = try file.read(chunk) } catch {
                return try finding(error, name, kind, isHeader: false)
            }
        }
        return nil
    }

    /// Returns the id in the name or path of a file; nil if it is not that of an attachment.
    package static func id(ofFile path: String) -> AttachmentID? {
        path.split(separator: "/").last.flatMap { AttachmentName(String($0)).id }
    }

    /// Whether a name is that of a complete attachment.
    @Sendable package static func isComplete(_ name: String) -> Bool {
        guard case .complete = AttachmentName(name) else { return false }
        return true
    }

    /// Returns the finding for an error of reading a file.
    private static func finding(
        _ error: AttachmentError, _ name: String, _ kind: AttachmentName, isHeader: Bool
    ) throws(StorageError) -> Finding {
        let path = "\(FileName.attachmentsName)/\(name)"
        let (offset, reason): (Int, String)
        switch error {
        case .damaged(let damage): (offset, reason) = (damage.offset, damage.reason)
        case .volume(let error):
            guard !error.code.isAboutProcess else { throw .io(error) }
            (offset, reason) = (0, "\(error)")
        default: (offset, reason) = (0, "\(error)")
        }
        let id = kind.id.map { "attachment \($0): " } ?? ""
        // A writer discards a partial file whose header is wrong, and fetches the file again.
        if isHeader, !kind.isComplete, case .damaged = error {
            return Finding(
                .warning, path, at: offset,
                id + reason + "; the file is incomplete, and its next fetch begins anew")
        }
        return Finding(.damage, path, at: offset, id + reason + advice(kind))
    }

    /// Returns the end of a finding: what to do about a damaged file.
    private static func advice(_ kind: AttachmentName) -> String {
        let fetching = "remove this file while the store is closed, and fetch the attachment again"
        guard kind.isComplete else { return "; " + fetching }
        return "; add the same content again, which replaces the file, or " + fetching
            + " from a peer that has it"
    }
}

extension AttachmentName {
    /// The id in the name of an attachment; nil for other files.
    fileprivate var id: AttachmentID? {
        switch self {
        case .complete(let id), .partial(let id): id
        case .temporary, .foreign: nil
        }
    }

    fileprivate var isComplete: Bool {
        if case .complete = self { true } else { false }
    }
}
