package import SheafStorage

extension AttachmentChecks {
    /// Checks that find no damage, for stores without documents.
    package static let none = AttachmentChecks(
        finding: { _, _, _ in nil }, referenced: { names, _ in names })
}
