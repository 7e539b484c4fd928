package import Sheaf
import SheafBytes

/// An alias for `Value` in types that have another `Value`.
package typealias DocumentValue = Value

/// A step of a path: a field name or an array index.
package enum PathStep: Hashable, Sendable {
    case name(String)
    case index(Int)

    /// Returns a path as it is written in code.
    static func text(of steps: [PathStep]) -> String {
        steps.reduce("") { text, step in
            switch step {
            case .name(let name): text.isEmpty ? name : "\(text).\(name)"
            case .index(let index): "\(text)[\(index)]"
            }
        }
    }
}

extension Value {
    /// Returns the value after a step, or nil if there is none.
    func element(at step: PathStep) -> Value? {
        switch (self, step) {
        case (.object(let object), .name(let name)): object[name]
        case (.array(let elements), .index(let index)):
            elements.indices.contains(index) ? elements[index] : nil
        default: nil
        }
    }

    /// Returns the value at a path, or nil if there is none.
    func element(at steps: some Sequence<PathStep>) -> Value? {
        var value: Value? = self
        for step in steps { value = value?.element(at: step) }
        return value
    }

    /// Returns an error text for the first index on a path that does not exist.
    func missingElement(at steps: [PathStep]) -> String {
        var value = self
        for (number, step) in steps.enumerated() {
            guard case .index(let index) = step else {
                value = value.element(at: step) ?? .object(Object())
                continue
            }
            let path = PathStep.text(of: Array(steps[..<number])).shortened
            guard case .array(let elements) = value else {
                return "\(path) is not an array, so it has no elements"
            }
            guard elements.indices.contains(index) else {
                return "\(path) has \(elements.count) elements, so index \(index) is out of "
                    + "range; set the complete array to append elements"
            }
            value = elements[index]
        }
        return "an array on the path has no such element"
    }

    /// Returns a copy with a new value at a path, or with the value removed.
    ///
    /// Objects on the path are created, also in place of other values. Returns nil if an index does
    /// not exist.
    func replacing(_ steps: ArraySlice<PathStep>, with new: Value?) -> Value? {
        guard let step = steps.first else { return new }
        let rest = steps.dropFirst()
        switch (self, step) {
        case (.array(var elements), .index(let index)):
            guard elements.indices.contains(index) else { return nil }
            if let element = elements[index].replacing(rest, with: new) {
                elements[index] = element
            } else if rest.isEmpty {
                elements.remove(at: index)
            } else {
                return nil
            }
            return .array(elements)
        case (_, .index): return nil
        case (_, .name(let name)):
            var object = Object()
            if case .object(let known) = self { object = known }
            if rest.isEmpty {
                object[name] = new
            } else {
                let inner = object[name] ?? .object(Object())
                guard let changed = inner.replacing(rest, with: new) else { return nil }
                object[name] = changed
            }
            return .object(object)
        }
    }
}
