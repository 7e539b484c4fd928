import Sheaf

/// A place in a document that a closure may change, or a literal that is assigned to one.
public final class DittoMutableDocumentPath: DittoReadablePath {
    // `Value` is what dictionary literals have here.
    typealias Outcome = Result<DocumentValue?, Unbridgeable>

    private enum Content {
        case place(DittoMutableDocument, [PathStep])
        case literal(Any?)
    }

    private let content: Content

    init(_ document: DittoMutableDocument, _ steps: [PathStep]) {
        content = .place(document, steps)
    }

    private init(literal value: Any?) {
        content = .literal(value)
    }

    /// What is at the place, or what the literal says.
    var current: Outcome {
        switch content {
        case .place(let document, let steps): return .success(document.content.element(at: steps))
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

    public var value: Any? {
        switch content {
        case .place(let document, let steps):
            document.content.element(at: steps)?.foundationValue
        case .literal(let value): value
        }
    }

    /// A field of the object that is here; it is made where it is set.
    public subscript(key: String) -> DittoMutableDocumentPath {
        get { path(.name(key)) }
        set { path(.name(key)).set(newValue.current) }
    }

    /// An element of the array that is here; the array is written as a whole.
    public subscript(index: Int) -> DittoMutableDocumentPath {
        get { path(.index(index)) }
        set { path(.index(index)).set(newValue.current) }
    }

    private func path(_ step: PathStep) -> DittoMutableDocumentPath {
        switch content {
        case .place(let document, let steps): DittoMutableDocumentPath(document, steps + [step])
        // A literal is not in a document: what is set there is lost with it.
        case .literal(let value): DittoMutableDocumentPath(literal: value)
        }
    }

    /// Sets what is here; an object replaces one that was here.
    public func set(_ value: Any?) {
        set(Self.bridged(value))
    }

    private func set(_ value: Outcome) {
        guard case .place(let document, let steps) = content else { return }
        document.change(steps, to: value)
    }

    /// Removes what is here.
    public func remove() {
        set(.success(nil))
    }
}

extension DittoMutableDocumentPath: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByNilLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public convenience init(stringLiteral value: String) { self.init(literal: value) }
    public convenience init(integerLiteral value: Int64) { self.init(literal: value) }
    public convenience init(booleanLiteral value: Bool) { self.init(literal: value) }
    public convenience init(floatLiteral value: Double) { self.init(literal: value) }
    public convenience init(nilLiteral: ()) { self.init(literal: nil) }
    public convenience init(arrayLiteral elements: Any?...) { self.init(literal: elements) }
    public convenience init(dictionaryLiteral elements: (String, Any?)...) {
        self.init(literal: Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
