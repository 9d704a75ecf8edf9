import TestKit

extension SeededGenerator {
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}
