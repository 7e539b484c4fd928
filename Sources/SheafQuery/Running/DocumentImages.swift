import SheafBytes
package import SheafDocument

/// The versions of a document before and after a change.
///
/// Shared by many observers, so the versions are compared at most once.
package final class DocumentImages {
    package let before: ScannedDocument?
    package let after: ScannedDocument?
    private let names: NameTable

    /// Whether the visible fields of both versions are identical.
    package private(set) lazy var areEqual = compare()

    package init(before: ScannedDocument?, after: ScannedDocument?, _ names: NameTable) {
        self.before = before
        self.after = after
        self.names = names
    }

    private func compare() -> Bool {
        guard let before, let after else { return before == nil && after == nil }
        return (try? ResultItem(before).hasSameContents(ResultItem(after), names)) ?? false
    }
}

extension ResultItem {
    fileprivate init(_ document: ScannedDocument) {
        self.init(
            content: .stored(fields: document.fields, id: document.id, position: document.position))
    }

    /// Whether two rows have identical contents, including the types of numbers.
    package func hasSameContents(_ other: ResultItem, _ names: NameTable) throws(StoreError) -> Bool
    {
        if case .stored(_, _, let pointer) = content, case .stored(_, _, pointer) = other.content,
            pointer != 0
        {
            return true
        }
        return Value.object(try object(names)).isIdentical(to: .object(try other.object(names)))
    }

    /// Whether two rows are computed and have identical contents.
    func isComputed(like other: ResultItem) -> Bool {
        guard let object = computedObject, let other = other.computedObject else { return false }
        return Value.object(object).isIdentical(to: .object(other))
    }

    private var computedObject: Object? {
        switch content {
        case .object(let object): object
        case .computed(let rows, let number): rows.object(number)
        case .stored: nil
        }
    }
}
