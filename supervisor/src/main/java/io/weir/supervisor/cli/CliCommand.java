package io.weir.supervisor.cli;

import java.util.concurrent.Callable;

/**
 * A command of {@code weir}, annotated with picocli's {@code @Command}. Commands are found through
 * {@link java.util.ServiceLoader}, so that a module that nobody here knows can add its own; an implementation needs a
 * public constructor without arguments and a line in {@code META-INF/services}. Its answer is the exit code.
 */
public interface CliCommand extends Callable<Integer> {}
