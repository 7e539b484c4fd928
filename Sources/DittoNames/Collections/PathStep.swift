import Sheaf
import SheafBytes

/// A value where another type is called so.
typealias DocumentValue = Value

/// A step from a value into what it holds.
enum PathStep: Hashable, Sendable {
    case name(String)
    case index(Int)

    /// The steps as they are written in code.
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
    /// What a step leads to; nil where nothing is there.
    func element(at step: PathStep) -> Value? {
        switch (self, step) {
        case (.object(let object), .name(let name)): object[name]
        case (.array(let elements), .index(let index)):
            elements.indices.contains(index) ? elements[index] : nil
        default: nil
        }
    }

    /// What some steps lead to; nil where nothing is there.
    func element(at steps: some Sequence<PathStep>) -> Value? {
        var value: Value? = self
        for step in steps { value = value?.element(at: step) }
        return value
    }

    /// Describes the first index on some steps that no element of an array has.
    func missingElement(at steps: [PathStep]) -> String {
        var value = self
        for (number, step) in steps.enumerated() {
            guard case .index(let index) = step else {
                value = value.element(at: step) ?? .object(Object())
                continue
            }
            let path = PathStep.text(of: Array(steps[..<number])).shortened
            guard case .array(let elements) = value else {
                return "\(path) is no array, and only arrays have elements"
            }
            guard elements.indices.contains(index) else {
                return "\(path) has \(elements.count) elements, and an index is less than that; "
                    + "set the whole array to add some"
            }
            value = elements[index]
        }
        return "an array on the path has no such element"
    }

    /// The same with another value at the end of some steps, or without it.
    ///
    /// Objects are made on the way. Nil where an array has no such place.
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
