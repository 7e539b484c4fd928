import Sheaf

/// A path in a mutable document, or a literal to be assigned to one.
public final class DittoMutableDocumentPath: DittoReadablePath {
    // In this type, `Value` is the associated type of dictionary literals.
    package typealias Outcome = Result<DocumentValue?, Unbridgeable>

    private enum Content {
        case path(DittoMutableDocument, [PathStep])
        case literal(Any?)
    }

    private let content: Content

    init(_ document: DittoMutableDocument, _ steps: [PathStep]) {
        content = .path(document, steps)
    }

    private init(literal value: Any?) {
        content = .literal(value)
    }

    /// The value at the path, or the value of the literal.
    var current: Outcome {
        switch content {
        case .path(let document, let steps): return .success(document.content.element(at: steps))
        case .literal(let value): return Self.bridged(value)
        }
    }

    private static func bridged(_ value: Any?) -> Outcome {
        do throws(Unbridgeable) {
            return .success(try DocumentValue(bridging: value))
        } catch {
            return .failure(error)
        }
    }

    /// The value as a Foundation value; nil if there is none.
    public var value: Any? {
        switch content {
        case .path(let document, let steps):
            document.content.element(at: steps)?.foundationValue
        case .literal(let value): value
        }
    }

    /// Returns the path to a field of the object at this path; assigning creates the field.
    public subscript(key: String) -> DittoMutableDocumentPath {
        get { path(.name(key)) }
        set { path(.name(key)).set(newValue.current) }
    }

    /// Returns the path to an element of the array at this path; assigning replaces the array.
    public subscript(index: Int) -> DittoMutableDocumentPath {
        get { path(.index(index)) }
        set { path(.index(index)).set(newValue.current) }
    }

    private func path(_ step: PathStep) -> DittoMutableDocumentPath {
        switch content {
        case .path(let document, let steps): DittoMutableDocumentPath(document, steps + [step])
        // A literal belongs to no document, so changes of its parts have no effect.
        case .literal(let value): DittoMutableDocumentPath(literal: value)
        }
    }

    /// Sets the value at this path; an object replaces an existing object.
    public func set(_ value: Any?) {
        set(Self.bridged(value))
    }

    private func set(_ value: Outcome) {
        guard case .path(let document, let steps) = content else { return }
        document.change(steps, to: value)
    }

    /// Removes the value at this path.
    public func remove() {
        set(.success(nil))
    }
}

extension DittoMutableDocumentPath: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByNilLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates a path whose value is a string, for an assignment.
    public convenience init(stringLiteral value: String) { self.init(literal: value) }
    /// Creates a path whose value is an integer, for an assignment.
    public convenience init(integerLiteral value: Int64) { self.init(literal: value) }
    /// Creates a path whose value is a Boolean, for an assignment.
    public convenience init(booleanLiteral value: Bool) { self.init(literal: value) }
    /// Creates a path whose value is a floating-point number, for an assignment.
    public convenience init(floatLiteral value: Double) { self.init(literal: value) }
    /// Creates a path whose value is nil, for an assignment.
    public convenience init(nilLiteral: ()) { self.init(literal: nil) }
    /// Creates a path whose value is an array, for an assignment.
    public convenience init(arrayLiteral elements: Any?...) { self.init(literal: elements) }
    /// Creates a path whose value is an object, for an assignment.
    public convenience init(dictionaryLiteral elements: (String, Any?)...) {
        self.init(literal: Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
