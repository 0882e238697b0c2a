/** The command line: one class a command, each thin over what it shows. The only package that writes to the console. */
package io.weir.supervisor.cli;
