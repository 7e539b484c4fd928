package import SheafStorage

extension AttachmentChecks {
    /// Checks that find no damage, for stores without documents.
    package static let none = AttachmentChecks(
        isComplete: { $0.hasSuffix(".whole") }, finding: { _, _, _ in nil },
        referenced: { names, _ in names })
}
