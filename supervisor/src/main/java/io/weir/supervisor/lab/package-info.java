/**
 * The lab: experiments that run the production algorithms under a simulated clock and put the papers' own figures
 * beside what came out. An experiment describes and measures; the command line prints, plots and decides the exit code.
 */
package io.weir.supervisor.lab;
