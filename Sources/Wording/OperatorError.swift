/// An error whose description is one line for an operator: what is wrong, where, and what to do.
package protocol OperatorError: Error, CustomStringConvertible {
    /// Whether the command line is wrong, which is exit code 64 instead of 1.
    var isUsage: Bool { get }
}

extension OperatorError {
    package var isUsage: Bool { false }

    /// 64 for a wrong command line, else 1.
    package var exitCode: Int32 { isUsage ? 64 : 1 }
}
